/** The catalogue of tests of tools: their organisation may use all servers of it. */
import { type TestIds, testCatalogue } from "../../src/testing/index.ts"

/** @param servers its list `toolServers`, with more lists behind it where a test needs them */
export const toolCatalogue = (urls: Parameters<typeof testCatalogue>[0], ids: TestIds, servers: string): string =>
  testCatalogue(urls, ids, servers).replace("unpriced] }", "unpriced], tools: ['*'] }")
