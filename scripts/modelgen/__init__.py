"""Makers of test and benchmark models: real structure, seeded random weights. scripts/make_models.py drives them."""
