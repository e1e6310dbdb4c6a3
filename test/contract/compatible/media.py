"""Pictures, speech, transcriptions and a video by OpenAI's SDK for Python, unchanged: BASE_URL and API_KEY name the
gateway. Fails at the first fault."""

import base64
import json
import os
import tempfile
import time

import openai

client = openai.OpenAI(base_url=f"{os.environ['BASE_URL']}/openai/v1", api_key=os.environ["API_KEY"], max_retries=0)
checked = []


def check(name, condition):
    if not condition:
        raise AssertionError(name)
    checked.append(name)


def pictures():
    made = client.images.generate(model="gpt-image-1", prompt="a weir", n=2, size="1024x1024")
    content = base64.b64decode(made.data[0].b64_json)
    check("images.generate", len(made.data) == 2 and content.startswith(b"\x89PNG"))
    changed = client.images.edit(model="gpt-image-1", prompt="brighter", image=("a.png", content, "image/png"))
    check("images.edit", base64.b64decode(changed.data[0].b64_json).startswith(b"\x89PNG"))


def sound():
    path = os.path.join(tempfile.mkdtemp(), "speech.wav")
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="Hello, river", response_format="wav"
    ) as response:
        response.stream_to_file(path)
    with open(path, "rb") as file:
        check("audio.speech, to a file", file.read(4) == b"RIFF")
    with open(path, "rb") as file:
        heard = client.audio.transcriptions.create(model="whisper-1", file=file)
    check("audio.transcriptions", "seconds" in heard.text)
    with open(path, "rb") as file:
        vtt = client.audio.transcriptions.create(model="whisper-1", file=file, response_format="vtt")
    check("audio.transcriptions, vtt", vtt.startswith("WEBVTT"))
    with open(path, "rb") as file:
        check("audio.translations", "seconds" in client.audio.translations.create(model="whisper-1", file=file).text)


def video():
    made = client.videos.create(model="sora-2", prompt="a weir", seconds="4")
    while made.status in ("queued", "in_progress"):
        time.sleep(0.2)
        made = client.videos.retrieve(made.id)
    check("videos", made.status == "completed")
    check("videos.download_content", client.videos.download_content(made.id).read() == b"film")


pictures()
sound()
video()
print(json.dumps(checked))
