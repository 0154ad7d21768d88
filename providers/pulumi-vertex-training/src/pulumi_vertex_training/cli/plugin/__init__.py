"""`plugin`: install the plugin for Pulumi programs in other languages."""
