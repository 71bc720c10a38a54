// Search from the file system. Browsers start no worker for a page of file:, so the theme's runs in a hidden frame.
// The theme finds this file by its name; without it, the offline plugin would load one from the network.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
      document.body.append(frame);
      this.frame = frame;
      addEventListener("message", ({ source, data }) => {
        if (source === frame.contentWindow) this.dispatchEvent(new MessageEvent("message", { data }));
      });
      const page = frame.contentWindow.document;
      page.open();
      page.write(
        "<body><script>postMessage = (data) => parent.postMessage(data, '*');" +
          "importScripts = async (...urls) => { for (const src of urls) await new Promise((onload) =>" +
          "document.body.append(Object.assign(document.createElement('script'), { src, onload }))) };" +
          `</script><script src="${url}"></script></body>`
      );
      page.close();
    }
    postMessage(data) {
      this.loaded.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}
