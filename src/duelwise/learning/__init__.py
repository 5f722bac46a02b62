"""The learner: it chooses pairs, hears votes and learns from them."""
