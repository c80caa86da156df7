"""What turns teach, who is told of it, and the reports to the service."""
