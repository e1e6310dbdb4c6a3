/** The APIs of clients, by the name of the dialect that is the same API towards vendors. */
import { messagesApi } from "../anthropic/client.ts"
import type { ClientApiName } from "../carry/carried-request.ts"
import { generateApi } from "../gemini/client.ts"
import { chatApi } from "../openai-chat/client.ts"
import { responsesApi } from "../openai-responses/client.ts"
import type { ClientApi } from "./client-api.ts"

export const clientApis: Readonly<Record<ClientApiName, ClientApi>> = {
  "openai-chat": chatApi,
  "openai-responses": responsesApi,
  anthropic: messagesApi,
  gemini: generateApi,
}
