"""What a policy would have achieved on a log that another one wrote."""
