"""`muster mcp`: a world for an AI agent, over the Model Context Protocol. docs/agents.md explains
it."""
