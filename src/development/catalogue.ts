/** The development catalogue: a simulated vendor, a model of each kind, one funded organisation with one key. */

/** The reference under which the development key's secret is resolved. */
export const developmentKeyRef = "env:WEIR_DEVELOPMENT_KEY"
export const developmentKeyId = "key_development"
export const simulatedVendorId = "simulated"

/** @param vendorUrl the address of the simulated vendor */
export const developmentCatalogue = (vendorUrl: string): string => `
version: 1
timeouts:
  development: { connect: 2s, ttfb: 30s, idle: 20s, total: 600s }
vendors:
  - { id: ${simulatedVendorId}, dialect: openai-chat, baseUrl: "${vendorUrl}/v1" }
  - { id: simulated-google, dialect: gemini, baseUrl: "${vendorUrl}" }
searchProviders:
  - { id: simulated-search, name: Simulated, vendor: searxng, baseUrl: "${vendorUrl}", pricePerCall: "0.005", currency: USD }
models:
  - handle: main
    contextWindow: 128000
    maxOutput: 8192
    capabilities: [tools, images, files, reasoning, cache]
    params: { maxTokens: { default: 1024 } }
    targets: [{ vendor: simulated, model: simulated-1 }]
  - { handle: embed, kind: embedding, targets: [{ vendor: simulated, model: simulated-embedding }] }
  - { handle: rank, kind: rerank, targets: [{ vendor: simulated, model: simulated-rerank }] }
  - { handle: moderate, kind: moderation, targets: [{ vendor: simulated, model: simulated-moderation }] }
  - { handle: draw, kind: image, targets: [{ vendor: simulated, model: simulated-image }] }
  - { handle: say, kind: speech, targets: [{ vendor: simulated, model: simulated-speech }] }
  - { handle: hear, kind: transcription, targets: [{ vendor: simulated, model: simulated-transcription }] }
  - { handle: film, kind: video, targets: [{ vendor: simulated, model: simulated-video }] }
  - { handle: talk, kind: realtime, contextWindow: 32000, maxOutput: 4096, capabilities: [tools], targets: [{ vendor: simulated, model: simulated-realtime }] }
  - { handle: talk-google, kind: realtime, contextWindow: 32000, maxOutput: 8192, capabilities: [tools], targets: [{ vendor: simulated-google, model: simulated-live }] }
prices:
  - { model: talk-google, currency: USD, input: "0.5", output: "2", cacheRead: "0.5", dims: { audio_in: "3", audio_out: "12", image_in: "3" }, from: 2026-01-01 }
  - { model: talk, currency: USD, input: "4", output: "16", cacheRead: "0.4", dims: { audio_in: "32", audio_out: "64", cache_read_audio: "0.4" }, from: 2026-01-01 }
  - { model: film, currency: USD, dims: { video_seconds: "100000" }, from: 2026-01-01 }
  - { model: draw, currency: USD, dims: { images: "40000" }, from: 2026-01-01 }
  - { model: say, currency: USD, dims: { characters: "15" }, from: 2026-01-01 }
  - { model: hear, currency: USD, dims: { audio_seconds: "100" }, from: 2026-01-01 }
  - { model: embed, currency: USD, input: "0.02", from: 2026-01-01 }
  - { model: rank, currency: USD, input: "0.05", from: 2026-01-01 }
  - { model: moderate, currency: USD, input: "0", from: 2026-01-01 }
  - { model: main, currency: USD, input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75", from: 2026-01-01 }
passThrough:
  - { id: vector-stores, vendor: simulated, path: /vector_stores/**, methods: [GET, POST, DELETE], mount: openai, price: { currency: USD, call: "0.001" }, hold: "0.001", owners: [$.id, "$.data[*].id"] }
toolServers:
  - { id: river, name: Rivers, url: "${vendorUrl}/tools", isReadOnly: true, price: { currency: USD, calls: "1000" },
      tools: { price: { words: { currency: USD, calls: "500", units: { words: { at: $.structuredContent.words, price: "10" } }, hold: "0.01" } } } }
plans:
  - { id: development, concurrency: 20, perMinute: 600, dailyTokens: 10000000 }
orgs:
  - { id: org_development, name: Development, keeps: { responses: 30d }, plan: development, currency: USD, models: [main, embed, rank, moderate, draw, say, hear, film, talk, talk-google, pass/*], tools: [river],
      capabilities: { imageGen: true, speechToText: true, textToSpeech: true, videoGen: true },
      aliases: { "claude-*": main, "gpt-*": main, "gemini-*": main } }
users:
  - { id: usr_development, email: ada@example.com, org: org_development, role: owner }
apps:
  - { id: app_development, org: org_development }
keys:
  - { id: ${developmentKeyId}, app: app_development, secret: "${developmentKeyRef}", scopes: [runtime] }
topups:
  - { id: development, org: org_development, amount: "100" }
`
