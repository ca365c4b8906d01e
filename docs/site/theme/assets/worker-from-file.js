/* The search of the theme runs in a Worker.  From file:// a browser refuses to start one, so there
 * its script runs in a hidden frame, which passes messages on as a Worker does. */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  function importScripts(frame) {
    return function (...urls) {
      const load = (url) =>
        new Promise((resolve, reject) => {
          const script = frame.document.createElement("script");
          script.src = url;
          script.onload = resolve;
          script.onerror = reject;
          frame.document.body.appendChild(script);
        });
      return urls.reduce((before, url) => before.then(() => load(url)), Promise.resolve());
    };
  }

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.onerror = null;
      this.element = document.createElement("iframe");
      this.element.hidden = true;
      this.element.title = "Search";
      document.body.appendChild(this.element);
      const frame = this.element.contentWindow;
      this.frame = frame;
      frame.importScripts = importScripts(frame);
      frame.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.isReady = new Promise((resolve, reject) => {
        const script = frame.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        frame.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      const send = () => this.frame.dispatchEvent(new this.frame.MessageEvent("message", { data }));
      this.isReady.then(send, (error) => {
        if (this.onerror) this.onerror(error);
      });
    }

    terminate() {
      this.element.remove();
    }
  }

  window.Worker = FrameWorker;
})();
