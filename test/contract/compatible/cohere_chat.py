"""Cohere's chat by its SDK for Python, unchanged: BASE_URL and API_KEY name the gateway. Fails at the first fault."""

import json
import os

import cohere
from langchain_cohere import ChatCohere
from langchain_core.messages import HumanMessage, ToolMessage

base = os.environ["BASE_URL"]
key = os.environ["API_KEY"]
checked = []
hello = [{"role": "user", "content": "Hello"}]
weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def check(name, condition):
    if not condition:
        raise AssertionError(name)
    checked.append(name)


def second():
    client = cohere.ClientV2(api_key=key, base_url=f"{base}/cohere")
    for model in ["main", "claude"]:
        reply = client.chat(model=model, messages=hello, max_tokens=50, p=0.9)
        check(f"{model}: whole", reply.message.content[0].text == "Hello there")
        check(f"{model}: usage", reply.usage.billed_units.input_tokens == 10 and reply.finish_reason == "COMPLETE")
        text = ""
        for event in client.chat_stream(model=model, messages=hello):
            if event.type == "content-delta":
                text += event.delta.message.content.text
        check(f"{model}: streamed", text == "Hello there")
    asked = [{"role": "user", "content": "Weather in Oslo?"}]
    calls = []
    for event in client.chat_stream(model="main", messages=asked, tools=[weather]):
        if event.type == "tool-call-start":
            calls.append({"id": event.delta.message.tool_calls.id, "arguments": ""})
        if event.type == "tool-call-delta":
            calls[-1]["arguments"] += event.delta.message.tool_calls.function.arguments
    check("tools: calls", [json.loads(call["arguments"]) for call in calls] == [{"city": "Oslo"}, {"city": "Rome"}])
    called = [
        {"id": call["id"], "type": "function", "function": {"name": "weather", "arguments": call["arguments"]}}
        for call in calls
    ]
    results = [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": [{"type": "document", "document": {"data": json.dumps({"degrees": "12 degrees"})}}],
        }
        for call in calls
    ]
    messages = [*asked, {"role": "assistant", "tool_plan": "I look.", "tool_calls": called}, *results]
    reply = client.chat(model="main", messages=messages, tools=[weather])
    check("tools: results", reply.message.content[0].text == "Hello there")


def first():
    client = cohere.Client(api_key=key, base_url=f"{base}/cohere")
    reply = client.chat(model="claude", message="Hello", preamble="Be short.")
    check("v1: whole", reply.text == "Hello there" and reply.meta.billed_units.output_tokens == 2)
    text = ""
    for event in client.chat_stream(model="main", message="Hello", chat_history=reply.chat_history):
        if event.event_type == "text-generation":
            text += event.text
        if event.event_type == "stream-end":
            check("v1: end", event.response.text == "Hello there")
    check("v1: streamed", text == "Hello there")


def langchain():
    llm = ChatCohere(model="main", cohere_api_key=key, base_url=f"{base}/cohere")
    reply = llm.invoke("Hello")
    check("langchain: whole", reply.content == "Hello there" and reply.usage_metadata["input_tokens"] == 10)
    check("langchain: streamed", "".join(chunk.content for chunk in llm.stream("Hello")) == "Hello there")
    asked = HumanMessage("Weather in Oslo?")
    *_, called = llm.bind_tools([weather_of]).stream([asked])
    calls = called.tool_calls
    check("langchain: calls", [call["args"] for call in calls] == [{"city": "Oslo"}, {"city": "Rome"}])
    results = [ToolMessage("12 degrees", tool_call_id=call["id"]) for call in calls]
    check("langchain: results", llm.invoke([asked, called, *results]).content == "Hello there")
    documents = [{"id": "1", "data": {"text": "A river is long."}}]
    check("langchain: documents", llm.invoke("Hello", documents=documents).content == "Hello there")


def weather_of(city: str) -> str:
    """Weather of a city"""
    return city


second()
first()
langchain()
print(json.dumps(checked))
