"""Runs all checks of scim2-tester. Arguments: the address of the SCIM routes, and a token."""
import sys
import uuid
from collections import Counter

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server, filling

url, token = sys.argv[1:]
example_of = filling.get_random_example_value


def example(path):
    """An address for userName: the package makes a random text, and people log in with an address."""
    if str(path).endswith("userName"):
        return f"{uuid.uuid4()}@example.com"
    return example_of(path)


filling.get_random_example_value = example

http = Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
results = check_server(SyncSCIMClient(http))
for result in results:
    if result.status not in (Status.SUCCESS, Status.COMPLIANT):
        print(result.status.name, result.title, result.resource_type or "", result.reason or "")
counts = Counter(result.status.name for result in results)
print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
bad = {"ERROR", "CRITICAL", "DEVIATION"}
sys.exit(1 if any(counts[name] for name in bad) or not results else 0)
