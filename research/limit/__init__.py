"""The study of how far policies are from the least Bayes regret there can be."""
