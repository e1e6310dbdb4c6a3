"""OpenAI's and Anthropic's SDKs for Python, unchanged: BASE_URL and API_KEY name the gateway. Fails at the first fault."""

import json
import os
import uuid

import anthropic
import openai

base = os.environ["BASE_URL"]
key = os.environ["API_KEY"]
image = "iVBORw0KGgo="
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
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


def chat():
    client = openai.OpenAI(base_url=f"{base}/openai/v1", api_key=key)
    hello = [{"role": "user", "content": "Hello"}]
    raw = client.chat.completions.with_raw_response.create(model="main", messages=hello)
    check("chat: whole", raw.parse().choices[0].message.content == "Hello there")
    check("chat: cost", raw.headers["x-svc-currency"] == "USD")
    stream = client.chat.completions.create(
        model="main", messages=hello, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    check("chat: stream", "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Hello there")
    check("chat: usage", chunks[-1].usage.total_tokens == 1200)
    tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
    thread = [{"role": "user", "content": "tools"}]
    message = client.chat.completions.create(model="main", messages=thread, tools=tools).choices[0].message
    calls = [json.loads(call.function.arguments)["city"] for call in message.tool_calls]
    check("chat: tools", calls == ["Oslo", "Rome"])
    thread.append(message)
    thread += [{"role": "tool", "tool_call_id": call.id, "content": "12"} for call in message.tool_calls]
    last = client.chat.completions.create(model="main", messages=thread, tools=tools)
    check("chat: results", last.choices[0].message.content == "Hello there")
    parts = [
        {"type": "text", "text": "Where?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
    ]
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    reply = client.chat.completions.create(
        model="main", messages=[{"role": "user", "content": parts}], response_format=form
    )
    check("chat: image and schema", reply.choices[0].finish_reason == "stop")
    error = refused(openai.BadRequestError, lambda: client.chat.completions.create(model="main", messages=hello, n=9))
    check("chat: refusal", error.param == "n")
    broken = [{"role": "user", "content": "break"}]
    fails = refused(
        openai.APIError, lambda: list(client.chat.completions.create(model="main", messages=broken, stream=True))
    )
    check("chat: an error in mid-stream", fails.code == "upstream_disconnected")
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first, again = (
        client.chat.completions.with_raw_response.create(model="main", messages=hello, extra_headers=headers)
        for _ in range(2)
    )
    check("chat: retry", again.headers.get("x-svc-idempotent-replay") == "1")
    stalled = [{"role": "user", "content": "stall"}]
    with client.chat.completions.create(model="main", messages=stalled, stream=True) as stream:
        check("chat: abort", next(iter(stream)).object == "chat.completion.chunk")
    check("chat: models", "main" in [model.id for model in client.models.list()])


def responses():
    client = openai.OpenAI(base_url=f"{base}/openai/v1", api_key=key)
    check("responses: whole", client.responses.create(model="main", input="Hello").output_text == "Hello there")
    with client.responses.stream(model="main", input="Hello") as stream:
        for _ in stream:
            pass
        check("responses: stream", stream.get_final_response().output_text == "Hello there")
    tools = [{"type": "function", "name": "weather", "parameters": schema, "strict": False}]
    thread = [{"role": "user", "content": "tools"}]
    output = client.responses.create(model="main", input=thread, tools=tools).output
    calls = [item for item in output if item.type == "function_call"]
    check("responses: tools", [json.loads(call.arguments)["city"] for call in calls] == ["Oslo", "Rome"])
    thread += output
    thread += [{"type": "function_call_output", "call_id": call.call_id, "output": "12"} for call in calls]
    last = client.responses.create(model="main", input=thread, tools=tools)
    check("responses: results", last.output_text == "Hello there")
    parts = [
        {"type": "input_text", "text": "Where?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{image}", "detail": "auto"},
    ]
    form = {"format": {"type": "json_schema", "name": "place", "schema": schema}}
    seen = client.responses.create(model="main", input=[{"role": "user", "content": parts}], text=form)
    check("responses: image and schema", seen.status == "completed")
    thread = [{"role": "user", "content": "think"}]
    reply = client.responses.create(model="claude", input=thread, store=False, reasoning={"effort": "high"})
    check("responses: reasoning", reply.output[0].summary[0].text == "Hm." and reply.output_text == "Yes.")
    thread += reply.output + [{"role": "user", "content": "Why?"}]
    why = client.responses.create(model="claude", input=thread, store=False)
    check("responses: reasoning comes back", why.output_text == "Hello there")
    error = refused(openai.BadRequestError, lambda: client.responses.create(model="main", input="Hi", background=True))
    check("responses: refusal", error.param == "background")
    refused(openai.APIError, lambda: list(client.responses.create(model="main", input="break", stream=True)))
    check("responses: an error in mid-stream", True)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first, again = (
        client.responses.with_raw_response.create(model="main", input="Hi", extra_headers=headers) for _ in range(2)
    )
    check("responses: retry", again.headers.get("x-svc-idempotent-replay") == "1")
    with client.responses.create(model="main", input="stall", stream=True) as stream:
        check("responses: abort", next(iter(stream)).type == "response.created")


def messages():
    client = anthropic.Anthropic(base_url=f"{base}/anthropic", api_key=key)
    hello = [{"role": "user", "content": "Hello"}]
    ask = {"model": "main", "max_tokens": 100}
    whole = client.messages.create(messages=hello, **ask)
    check("messages: whole", whole.content[0].text == "Hello there" and whole.usage.output_tokens == 200)
    with client.messages.stream(messages=hello, **ask) as stream:
        check("messages: stream", "".join(stream.text_stream) == "Hello there")
        check("messages: usage", stream.get_final_message().usage.input_tokens == 600)
    tools = [{"name": "weather", "input_schema": schema}]
    thread = [{"role": "user", "content": "tools"}]
    reply = client.messages.create(messages=thread, tools=tools, **ask)
    calls = [block for block in reply.content if block.type == "tool_use"]
    check("messages: tools", [call.input["city"] for call in calls] == ["Oslo", "Rome"])
    thread.append({"role": "assistant", "content": reply.content})
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "12"} for call in calls]
    thread.append({"role": "user", "content": results})
    last = client.messages.create(messages=thread, tools=tools, **ask)
    check("messages: results", last.content[0].text == "Hello there")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}
    seen = client.messages.create(messages=[{"role": "user", "content": [picture]}], **ask)
    check("messages: image", seen.stop_reason == "end_turn")
    form = {"format": {"type": "json_schema", "schema": schema}}
    formed = client.messages.create(messages=hello, output_config=form, **ask)
    check("messages: schema", formed.stop_reason == "end_turn")
    think = {"model": "claude", "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1500}}
    thread = [{"role": "user", "content": "think"}]
    with client.messages.stream(messages=thread, **think) as stream:
        reply = stream.get_final_message()
    check("messages: thinking", [block.type for block in reply.content] == ["thinking", "redacted_thinking", "text"])
    thread += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": "Why?"}]
    check("messages: thinking comes back", client.messages.create(messages=thread, **think).stop_reason == "end_turn")
    broken = [{"role": "user", "content": "break"}]
    refused(anthropic.APIError, lambda: list(client.messages.create(messages=broken, stream=True, **ask)))
    check("messages: an error in mid-stream", True)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first, again = (
        client.messages.with_raw_response.create(messages=hello, extra_headers=headers, **ask) for _ in range(2)
    )
    check("messages: retry", again.headers.get("x-svc-idempotent-replay") == "1")
    stalled = [{"role": "user", "content": "stall"}]
    with client.messages.create(messages=stalled, stream=True, **ask) as stream:
        check("messages: abort", next(iter(stream)).type == "message_start")
    wrong = anthropic.Anthropic(base_url=f"{base}/anthropic", api_key="nobody~wrong")
    refused(anthropic.AuthenticationError, lambda: wrong.messages.create(messages=hello, **ask))
    check("messages: a wrong key", True)
    counted = client.messages.count_tokens(model="main", messages=hello)
    check("messages: count", counted.input_tokens > 0)
    check("messages: models", "main" in [model.id for model in client.models.list()])


def clouds():
    hello = [{"role": "user", "content": "Hello"}]
    azure = openai.AzureOpenAI(azure_endpoint=f"{base}/azure", api_key=key, api_version="2024-10-21")
    whole = azure.chat.completions.create(model="main", messages=hello)
    check("azure: whole", whole.choices[0].message.content == "Hello there")
    stream = azure.chat.completions.create(model="main", messages=hello, stream=True)
    check("azure: stream", "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == "Hello there")
    deployed = openai.AzureOpenAI(
        azure_endpoint=f"{base}/azure", azure_deployment="main", api_key=key, api_version="2024-10-21"
    )
    check("azure: deployment", deployed.chat.completions.create(model="x", messages=hello).model == "main")
    check("azure: responses", azure.responses.create(model="main", input="Hello").output_text == "Hello there")


chat()
responses()
messages()
clouds()
print(json.dumps(checked))
