"""What an agent does: it chooses pairs, hears votes and learns from them."""
