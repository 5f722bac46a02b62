"""The paper's figures and protocols, and studies that play them."""
