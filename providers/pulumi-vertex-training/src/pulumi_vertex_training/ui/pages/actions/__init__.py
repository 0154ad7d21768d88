"""The templates of actions: their buttons, and the dialog that confirms them."""
