// For explorers that move by themselves: a button that lets this.place run to this.last.

const REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)");
const PLAY = '<button type="button" class="play">Play</button>';

class Player extends Explorer {
  build() {
    this.find(".play").addEventListener("click", () => (this.frame ? this.pause() : this.play()));
  }

  // From 0 where it is at its end already; in whole steps where motion is to be reduced.
  play() {
    const { last } = this, from = this.place >= last ? 0 : this.place, speed = this.constructor.speed ?? 6;
    let began = null;
    const step = (now) => {
      began ??= now;
      const travelled = ((now - began) / 1000) * (REDUCED_MOTION.matches ? 1 : speed);
      this.place = Math.min(from + (REDUCED_MOTION.matches ? Math.floor(travelled) : travelled), last);
      this.draw();
      if (this.place < last) this.frame = requestAnimationFrame(step);
      else this.pause();
    };
    this.find(".play").textContent = "Pause";
    this.frame = requestAnimationFrame(step);
  }

  // Stop on a whole position.
  pause() {
    if (!this.frame) return;
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.place = Math.round(this.place);
    this.find(".play").textContent = "Play";
    this.draw();
  }
}
