"""Off-policy evaluation: the value of a policy on a log that another policy wrote."""
