"""Measurements behind claims: each is a function that gives numbers with intervals.

Policies are compared run by run where they met the same users; where a measurement combines
estimates whose covariance is not kept, its interval is the widest they allow.
"""
