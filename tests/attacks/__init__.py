"""The service under attack: what one caller may cost the others."""
