"""The policies of a stack, as the command applies them: before a deployment, and in it by Pulumi's engine."""
