/** The test kit of `@weir-gateway/testing`: a complete gateway, scripted vendors, memory layers, vendor replies. */
export { Gate } from "../admission/gate.ts"
export { layerMemory as layerMemoryGate } from "../admission/gate-memory.ts"
export { Calls } from "../calls/calls.ts"
export { Catalogue } from "../catalogue/catalogue.ts"
export { WeirConfig } from "../config.ts"
export { Ledger } from "../money/ledger.ts"
export { parseEvents, readEvents, type StreamedEvent } from "../protocol/parse-events.ts"
export { VendorClient } from "../upstream/client.ts"
export {
  type GatewayOptions,
  hello,
  newTestIds,
  type TestIds,
  testAwsKeys,
  testCatalogue,
  testNewWebhookSecret,
  testWebhookSecret,
} from "./gateway.ts"
export { type LedgerBook, layerMemoryLedger, makeLedgerBook } from "./ledger-memory.ts"
export { answeringLive, type LiveTurn, liveUsage, soundMessage, turnMessages } from "./live-messages.ts"
export { type LiveScript, type LiveTwin, type LiveTwinSession, startLiveTwin } from "./live-twin.ts"
export { layerMockVendorClient, type MockReply, type MockVendor, makeMockVendor } from "./mock-vendor-client.ts"
export { type EngineOptions, layerCalls, mockCaller, mockCatalogue } from "./mocked-engine.ts"
export { type MockedExchange, type MockedOptions, startMockedExchange } from "./mocked-exchange.ts"
export { type MockedGateway, startMockedGateway } from "./mocked-gateway.ts"
export { type OpenGateway, openGateway, startGateway } from "./open-gateway.ts"
export { layerPlainServices } from "./plain-services.ts"
export {
  answeringRealtime,
  type RealtimeEvent,
  type RealtimeScript,
  type RealtimeVendor,
  type RealtimeVendorSession,
  realtimeUsage,
  responseEvents,
  type Spoken,
  startRealtimeVendor,
} from "./scripted-realtime.ts"
export { type ScriptedVendor, startScriptedVendor, type VendorCall, type VendorScript } from "./scripted-vendor.ts"
export { layerStaticCatalogue } from "./static-catalogue.ts"
export { layerTestConfig, type TestConfig } from "./stores.ts"
export type { TestGateway } from "./test-gateway.ts"
export { makeAnthropicBatches } from "./twins/anthropic/batches.ts"
export { anthropicTwin } from "./twins/anthropic/twin.ts"
export { type BatchPlan, type BatchTwin, type LineOutcome, serveBatches } from "./twins/batch-twin.ts"
export { bedrockTwin } from "./twins/bedrock/twin.ts"
export { cohereTwin } from "./twins/cohere/twin.ts"
export type { FilesTwin } from "./twins/files/file-twin.ts"
export { anthropicFilesTwin, geminiFilesTwin, openaiFilesTwin } from "./twins/files/twins.ts"
export { makeGeminiBatches } from "./twins/gemini/batches.ts"
export { geminiTwin } from "./twins/gemini/twin.ts"
export { makeMistralBatches } from "./twins/mistral-batches.ts"
export { type BackgroundPlan, type BackgroundTwin, makeOpenaiBackground } from "./twins/openai/background.ts"
export { makeOpenaiBatches, type OpenaiBatchOptions } from "./twins/openai/batches.ts"
export { chatTwins, openaiTwin } from "./twins/openai/chat-twin.ts"
export { responsesTwin } from "./twins/openai/responses-twin.ts"
export { repeating } from "./twins/repeating.ts"
export {
  serveTwin,
  type Twin,
  type TwinAsked,
  type TwinBlock,
  type TwinCall,
  type TwinRefusal,
  type TwinReply,
  type TwinRule,
  type TwinScript,
} from "./twins/twin.ts"
export * from "./vendor-replies.ts"
