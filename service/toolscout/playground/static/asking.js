// From keystrokes to answers: asked when the typing pauses, and only the last question counts.

export const RANKERS = ["hybrid", "bm25", "semantic", "regex"];
const PAUSE_MS = 90;
const BEYOND = 6; // tools below the cut that are shown

export class Asking {
  #service;
  #shown;
  #timer = 0;
  #controller = new AbortController();

  /** `shown` has `answered(result)` and `failed(error)`. */
  constructor(service, shown) {
    this.#service = service;
    this.#shown = shown;
  }

  /** Ask after a pause, or at once; whatever was asked before is forgotten. */
  ask(question, pauseMs = PAUSE_MS) {
    this.stop();
    const { signal } = (this.#controller = new AbortController());
    this.#timer = setTimeout(() => this.#run(question, signal), pauseMs);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }

  async #run(question, signal) {
    try {
      const result = await this.#answers(question, signal);
      if (!signal.aborted) this.#shown.answered(result);
    } catch (error) {
      if (!signal.aborted) this.#shown.failed(error);
    }
  }

  /** The answer first and by itself, so that nothing else is in its time; then each ranker's. */
  async #answers(question, signal) {
    const { top_k, ranker } = question;
    const { answer, tripMs } = await this.#service.search(question, signal);
    const columns = RANKERS.map(async (name) => {
      const fields = { ...question, ranker: name };
      const [chosen, wider] = await Promise.all([
        name === ranker ? { answer } : this.#service.search(fields, signal),
        this.#service.search({ ...fields, top_k: top_k + BEYOND }, signal),
      ]);
      const names = new Set(chosen.answer.selected_names);
      const cut = wider.answer.matches.filter((match) => !names.has(match.name));
      return { name, answer: chosen.answer, cut };
    });
    return { question, answer, tripMs, columns: await Promise.all(columns) };
  }
}
