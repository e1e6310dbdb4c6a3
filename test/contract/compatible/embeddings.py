"""Embeddings and rankings by SDKs for Python, unchanged: BASE_URL and API_KEY name the gateway. Fails at the first fault."""

import json
import os

import cohere
import openai
from langchain_cohere import CohereEmbeddings, CohereRerank
from langchain_openai import OpenAIEmbeddings

base = os.environ["BASE_URL"]
key = os.environ["API_KEY"]
model = "text-embedding-3-small"
ranker = "rerank-v3.5"
documents = ["a lake", "a river", "hills"]
checked = []


def check(name, condition):
    if not condition:
        raise AssertionError(name)
    checked.append(name)


def openai_sdk():
    client = openai.OpenAI(base_url=f"{base}/openai/v1", api_key=key)
    reply = client.embeddings.create(model=model, input=documents)
    check("openai: base64 by itself", [len(item.embedding) for item in reply.data] == [64, 64, 64])
    reply = client.embeddings.create(model=model, input=documents, dimensions=32, encoding_format="float")
    check("openai: dimensions", [len(item.embedding) for item in reply.data] == [32, 32, 32])
    many = client.embeddings.create(model=model, input=[f"word{at}" for at in range(2048)])
    check("openai: 2,048 inputs", len(many.data) == 2048)
    moderated = client.moderations.create(input=["kill", "love"])
    check("openai: moderations", [result.flagged for result in moderated.results] == [True, False])


def cohere_sdk():
    client = cohere.ClientV2(api_key=key, base_url=f"{base}/cohere")
    embedded = client.embed(model=model, texts=documents, input_type="search_document", embedding_types=["float"])
    check("cohere: embed", [len(vector) for vector in embedded.embeddings.float_] == [64, 64, 64])
    ranked = client.rerank(model=ranker, query="a river", documents=documents, top_n=1)
    check("cohere: rerank", [result.index for result in ranked.results] == [1])


def langchain():
    plain = OpenAIEmbeddings(model=model, base_url=f"{base}/openai/v1", api_key=key, check_embedding_ctx_length=False)
    check("langchain: OpenAI's embeddings", len(plain.embed_documents(documents)) == 3)
    check("langchain: a query", len(plain.embed_query("a river")) == 64)
    client = cohere.ClientV2(api_key=key, base_url=f"{base}/cohere")
    embeddings = CohereEmbeddings(model=model, base_url=f"{base}/cohere", cohere_api_key=key)
    check("langchain: Cohere's embeddings", len(embeddings.embed_documents(documents)) == 3)
    rerank = CohereRerank(model=ranker, base_url=f"{base}/cohere", top_n=2, cohere_api_key=key)
    ranked = rerank.rerank(documents=documents, query="a river")
    check("langchain: Cohere's reranker", [result["index"] for result in ranked] == [1, 0])


openai_sdk()
cohere_sdk()
langchain()
print(json.dumps(checked))
