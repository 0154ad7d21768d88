"""Conversion between plain values, frozen specs and the API's JSON, field by field."""
