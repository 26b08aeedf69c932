/** A panel in place of the input that has an input of its own. */
import { Input, type Component, type Focusable } from "@earendil-works/pi-tui";

export abstract class InputPanel implements Component, Focusable {
  protected readonly input = new Input();

  get focused(): boolean {
    return this.input.focused;
  }

  set focused(value: boolean) {
    this.input.focused = value;
  }

  invalidate(): void {
    this.input.invalidate();
  }

  abstract handleInput(data: string): void;
  abstract render(width: number): readonly string[];
}
