"""OpenAI's SDK for Python, unchanged: kept responses and conversations. BASE_URL and API_KEY name the gateway."""

import json
import os
import time

import openai

client = openai.OpenAI(base_url=f"{os.environ['BASE_URL']}/openai/v1", api_key=os.environ["API_KEY"], max_retries=0)
checked = []


def check(name, condition):
    if not condition:
        raise AssertionError(name)
    checked.append(name)


def refused(error, call):
    try:
        call()
    except error as thrown:
        return thrown
    raise AssertionError(f"{error.__name__} was expected")


def ended(response):
    while response.status in {"queued", "in_progress"}:
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    return response


def responses(model):
    first = client.responses.create(model=model, input="Hello")
    check(f"{model}: created", first.status == "completed" and first.output_text == "Hello there")
    second = client.responses.create(model=model, input="And?", previous_response_id=first.id)
    check(f"{model}: continued", second.previous_response_id == first.id)
    check(f"{model}: retrieved", client.responses.retrieve(second.id).output_text == "Hello there")
    items = client.responses.input_items.list(second.id, order="asc").data
    check(f"{model}: items", [item.type for item in items] == ["message"] * 3)
    with client.responses.stream(model=model, input="On", previous_response_id=second.id) as stream:
        check(f"{model}: streamed", stream.get_final_response().output_text == "Hello there")
    begun = client.responses.create(model=model, input="Work", background=True)
    check(f"{model}: queued", begun.status == "queued")
    check(f"{model}: ended", ended(begun).output_text == "Hello there")
    events = list(client.responses.retrieve(begun.id, stream=True))
    check(f"{model}: events", [event.sequence_number for event in events] == list(range(len(events))))
    rest = list(client.responses.retrieve(begun.id, stream=True, starting_after=3))
    check(f"{model}: the rest", [event.type for event in rest] == [event.type for event in events[4:]])
    check(f"{model}: ended before", client.responses.cancel(begun.id).status == "completed")
    refused(openai.BadRequestError, lambda: client.responses.cancel(first.id))
    client.responses.delete(first.id)
    refused(openai.NotFoundError, lambda: client.responses.retrieve(first.id))
    lost = refused(
        openai.BadRequestError,
        lambda: client.responses.create(model=model, input="x", previous_response_id=first.id),
    )
    check(f"{model}: unknown", lost.code == "previous_response_not_found")


def conversations(model):
    made = client.conversations.create(metadata={"topic": "rivers"}, items=[{"role": "user", "content": "First"}])
    check(f"{model}: conversation", client.conversations.retrieve(made.id).metadata == {"topic": "rivers"})
    reply = client.responses.create(model=model, input="Second", conversation=made.id)
    check(f"{model}: in it", reply.conversation.id == made.id)
    items = client.conversations.items.list(made.id, order="asc").data
    check(f"{model}: its items", len(items) == 3)
    check(f"{model}: one", client.conversations.items.retrieve(items[0].id, conversation_id=made.id).id == items[0].id)
    client.conversations.items.create(made.id, items=[{"role": "user", "content": "Third"}])
    client.conversations.items.delete(items[0].id, conversation_id=made.id)
    check(f"{model}: changed", len(client.conversations.items.list(made.id).data) == 3)
    client.conversations.update(made.id, metadata={"topic": "seas"})
    check(f"{model}: erased", client.conversations.delete(made.id).deleted)
    refused(openai.NotFoundError, lambda: client.conversations.retrieve(made.id))


for model in ("main", "claude", "responses", "gemini"):
    responses(model)
    conversations(model)
print(json.dumps(checked))
