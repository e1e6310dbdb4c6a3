/**
 * The rule by which methods count: each public method that makes one request of its API. Left out are methods that repeat
 * another one of their resource in another form (they wait for its end, read its stream, parse its reply, run its tools),
 * and methods that make no request. TypeScript's private methods exist at run time too, and are left out by their names.
 */

/** Names of repeating methods, by their ends, in every SDK. */
const wrapperNames = /AndPoll$|AndRunPoll$|And(Run)?Stream$|OutputsStream$|WithContinuation$/

/** Repeating methods whose name alone does not say it: other resources have calls of these names. */
const wrappers: ReadonlySet<string> = new Set([
  "chat.completions.parse",
  "chat.completions.runTools",
  "chat.completions.stream",
  "responses.parse",
  "responses.stream",
  "files.waitForProcessing",
  "vectorStores.files.poll",
  "vectorStores.files.upload",
  "vectorStores.fileBatches.poll",
  "beta.threads.runs.poll",
  "beta.threads.runs.stream",
  "beta.agents.environments.files.prepare",
  "beta.agents.environments.files.upload",
  "beta.agents.sessions.stream",
  "beta.agents.sessions.artifacts.forResult",
  "messages.parse",
  "messages.stream",
  "beta.messages.parse",
  "beta.messages.stream",
  "beta.messages.thread",
  "beta.messages.toolRunner",
  "beta.environments.work.poller",
  "beta.environments.work.worker",
  "beta.sessions.events.toolRunner",
  // A chat of Google's SDK, whose calls are `models.generateContent`; the rest are private.
  "chats.create",
  "models.initAfcToolsMap",
  "models.maybeMoveToResponseJsonSchema",
  "models.processAfcStream",
  "models.processParamsMaybeAddMcpUsage",
  "batches.createInlinedGenerateContentRequest",
  "batches.formatDestination",
  "batches.getBigqueryUri",
  "batches.getGcsUri",
  // Any path of Cohere's API.
  "fetch",
])

export const isCounted = (id: string): boolean => !wrapperNames.test(id) && !wrappers.has(id)

/** Whether a method manages the vendor's own account: its people, keys, projects, bills. Counted aside. */
export const isOfAccount = (id: string): boolean => /(^|\.)organization\./.test(id)
