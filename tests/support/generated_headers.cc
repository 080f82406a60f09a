// Empty: depending on it brings every generated header into being, which the checks that compile by themselves need.
