/** Real arguments for the methods that a gateway serves; all others are called with generic ones. */
import type { Clients, Sdk } from "./clients.ts"
import type { Uses } from "./prepared.ts"
import { anthropicUses } from "./uses-anthropic.ts"
import { cohereUses } from "./uses-cohere.ts"
import { geminiUses } from "./uses-gemini.ts"
import { openaiUses } from "./uses-openai.ts"

export const usesOf = (clients: Clients, folder: string): Readonly<Record<Sdk["name"], Uses>> => ({
  openai: openaiUses(clients.openai),
  "@anthropic-ai/sdk": anthropicUses(clients.anthropic),
  "@google/genai": geminiUses(clients.gemini, folder),
  "cohere-ai": cohereUses(),
})
