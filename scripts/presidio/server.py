"""Presidio's analyzer behind HTTP, as the app.py of its image answers, with the recognizers that need no language model.

It listens on a free port of the loopback, and prints its address. Source:
https://github.com/microsoft/presidio/blob/main/presidio-analyzer/app.py
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tldextract
from presidio_analyzer import AnalyzerEngine, AnalyzerRequest, BatchAnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine.no_op_nlp_engine import NoOpNlpEngine

# The list of domains that the package brings along: nothing is downloaded.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

nlp = NoOpNlpEngine(models=[{"lang_code": "en", "model_name": "none"}])
registry = RecognizerRegistry()
registry.load_predefined_recognizers(languages=["en"], nlp_engine=nlp)
engine = AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=["en"])
batch = BatchAnalyzerEngine(engine)


def fields(result):
    """A result as app.py writes it."""
    found = result.to_dict()
    found.pop("recognition_metadata", None)
    return found


def analyze(content):
    """The status and the answer to a request."""
    try:
        asked = AnalyzerRequest(content)
        if not asked.text:
            raise Exception("No text provided")
        if not asked.language:
            raise Exception("No language provided")
        texts = asked.text if isinstance(asked.text, list) else [asked.text]
        found = batch.analyze_iterator(
            texts=texts,
            language=asked.language,
            correlation_id=asked.correlation_id,
            score_threshold=asked.score_threshold,
            entities=asked.entities,
            return_decision_process=asked.return_decision_process,
            ad_hoc_recognizers=asked.ad_hoc_recognizers,
            context=asked.context,
            allow_list=asked.allow_list,
            allow_list_match=asked.allow_list_match,
            regex_flags=asked.regex_flags,
        )
        lists = [[fields(result) for result in results] for results in found]
        return 200, lists if isinstance(asked.text, list) else lists[0]
    except TypeError as error:
        return 400, {"error": f"Failed to parse /analyze request for AnalyzerEngine.analyze(). {error.args[0]}"}
    except Exception as error:
        return 500, {"error": error.args[0] if error.args else str(error)}


class Analyzer(BaseHTTPRequestHandler):
    """The routes of the analyzer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, "Presidio Analyzer service is up")
        else:
            self.answer(404, {"error": "Not Found"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path != "/analyze":
            self.answer(404, {"error": "Not Found"})
            return
        if self.headers.get_content_type() != "application/json":
            self.answer(415, {"error": "Unsupported Media Type"})
            return
        try:
            content = json.loads(body)
        except ValueError:
            self.answer(400, {"error": "Bad Request"})
            return
        self.answer(*analyze(content))

    def answer(self, status, said):
        body = (said if isinstance(said, str) else json.dumps(said, sort_keys=True)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Texts are not logged."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Analyzer)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
