"""Plain values <-> frozen specs <-> the API's JSON, field by field."""
