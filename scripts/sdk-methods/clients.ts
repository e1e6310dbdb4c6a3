/** The four SDKs, each with its client at a gateway. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { CohereClient } from "cohere-ai"
import OpenAI from "openai"
import type { Mount } from "../../src/protocol/catalogue/pass-through.ts"

/** The typed clients, from which requests are prepared. */
export interface Clients {
  readonly openai: OpenAI
  readonly anthropic: Anthropic
  readonly gemini: GoogleGenAI
  readonly vertex: GoogleGenAI
  readonly cohere: CohereClient
}

/** The clients, unchanged except for their address, their key and their retries. */
export const clientsAt = (url: string, apiKey: string): Clients => ({
  openai: new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, adminAPIKey: apiKey, maxRetries: 0 }),
  anthropic: new Anthropic({ baseURL: `${url}/anthropic`, apiKey, maxRetries: 0 }),
  gemini: new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/gemini`, retryOptions: { attempts: 1 } } }),
  vertex: new GoogleGenAI({
    vertexai: true,
    apiKey,
    httpOptions: { baseUrl: `${url}/vertex`, retryOptions: { attempts: 1 } },
  }),
  cohere: new CohereClient({ token: apiKey, baseUrl: `${url}/cohere`, environment: `${url}/cohere`, maxRetries: 0 }),
})

export interface Sdk {
  readonly name: "openai" | "@anthropic-ai/sdk" | "@google/genai" | "cohere-ai"
  /** The base of its API at a gateway. */
  readonly base: string
  readonly client: Mount
  /** The client for methods that the SDK calls only in a cloud. */
  readonly cloudClient?: keyof Clients
  /** Whether methods of the client itself call the API. */
  readonly hasOwnCalls: boolean
}

export const sdks: ReadonlyArray<Sdk> = [
  { name: "openai", base: "/openai/v1", client: "openai", hasOwnCalls: false },
  { name: "@anthropic-ai/sdk", base: "/anthropic", client: "anthropic", hasOwnCalls: false },
  { name: "@google/genai", base: "/gemini", client: "gemini", cloudClient: "vertex", hasOwnCalls: false },
  { name: "cohere-ai", base: "/cohere", client: "cohere", hasOwnCalls: true },
]
