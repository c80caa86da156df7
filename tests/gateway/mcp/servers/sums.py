"""A server whose tools show no effect in annotations, name or description, but for one."""

from fastmcp import FastMCP

server = FastMCP("sums")


@server.tool
def product(a: float, b: float) -> float:
    """The product of two numbers."""  # noqa: D401  # it shows no effect
    return a * b


@server.tool
def delete_sum(name: str) -> str:
    """A sum is no more."""  # noqa: D401
    return name


if __name__ == "__main__":
    server.run(show_banner=False)
