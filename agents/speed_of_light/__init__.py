"""Specialists for the speed of light: an analyst that bounds run time and a verifier that counts again."""
