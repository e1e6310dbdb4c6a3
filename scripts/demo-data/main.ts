/**
 * `npm run demo-data [-- FOLDER]`: a busy month in the data folder of a development gateway, which must not run meanwhile:
 * organisations, teams, people, keys, budgets, money, calls and failures. FOLDER is `.weir` if absent.
 */
import { resolve } from "node:path"
import { makeDemoData } from "./month.ts"

const folder = resolve(process.argv[2] ?? process.env["SVC_DATA_DIR"] ?? ".weir")
const { calls, organisations } = await makeDemoData(folder)
console.log(`${folder} has ${calls} calls of ${organisations} organisations in the last 30 days. Start it: npm start`)
