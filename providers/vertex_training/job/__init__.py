"""One spec for each kind of resource: decoding, normal form, rules, JSON, effects of the fields. Pure."""
