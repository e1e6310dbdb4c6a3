"""OpenAI's SDK for Python over its sockets, unchanged: BASE_URL and API_KEY name the gateway. Fails at the first fault."""

import base64
import os

import openai

base = os.environ["BASE_URL"]
key = os.environ["API_KEY"]
client = openai.OpenAI(
    base_url=f"{base}/openai/v1", websocket_base_url=f"{base.replace('http', 'ws', 1)}/openai/v1", api_key=key
)
checked = []


def check(name, condition):
    if not condition:
        raise AssertionError(name)
    checked.append(name)


def realtime():
    with client.realtime.connect(model="voice") as connection:
        connection.session.update(session={"type": "realtime", "instructions": "Be short."})
        connection.input_audio_buffer.append(audio=base64.b64encode(bytes(960)).decode())
        connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
        )
        connection.response.create()
        text = ""
        sound = b""
        for event in connection:
            if event.type == "response.output_audio_transcript.delta":
                text += event.delta
            elif event.type == "response.output_audio.delta":
                sound += base64.b64decode(event.delta)
            elif event.type == "response.done":
                check("realtime: usage", event.response.usage.output_tokens == 45)
                break
            elif event.type == "error":
                raise AssertionError(event.error.message)
        check("realtime: text", text == "Hello there")
        check("realtime: sound", len(sound) == 1920)
        connection.session.update(session={"type": "realtime", "tools": [{"type": "mcp", "server_label": "a"}]})
        check("realtime: refused", connection.recv().error.param == "session.tools")


def responses():
    with client.responses.connect() as connection:
        previous = None
        for question in ["Hello", "And?"]:
            connection.response.create(model="main", input=question, previous_response_id=previous)
            text = ""
            for event in connection:
                if event.type == "response.output_text.delta":
                    text += event.delta
                elif event.type == "response.completed":
                    previous = event.response.id
                    break
                elif event.type == "error":
                    raise AssertionError(event)
            check("responses: text", text == "Hello there")


def client_secret():
    secret = client.realtime.client_secrets.create(session={"type": "realtime", "model": "voice"})
    browser = openai.OpenAI(base_url=client.base_url, websocket_base_url=client.websocket_base_url, api_key=secret.value)
    with browser.realtime.connect(model="voice") as connection:
        check("client secret: session", connection.recv().type == "session.created")
    try:
        browser.realtime.client_secrets.create()
        raise AssertionError("an end user made a client secret")
    except openai.PermissionDeniedError:
        check("client secret: only for applications", True)


realtime()
responses()
client_secret()
print(f"{len(checked)} checks")
