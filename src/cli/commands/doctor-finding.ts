/** A finding of `weir doctor`. */
export interface Finding {
  readonly check: string
  readonly result: "ok" | "warning" | "failed" | "skipped"
  readonly note: string
}

export const ok = (check: string, note = ""): Finding => ({ check, result: "ok", note })
export const failed = (check: string, note: string): Finding => ({ check, result: "failed", note })
export const skipped = (check: string, note: string): Finding => ({ check, result: "skipped", note })
