"""Settings: read strictly, the nearest name offered."""

import pytest

from kgplatform import settings as config
from kgplatform.errors import ConfigError, WorkspaceError


def workspace(folder, text):
    (folder / config.FILE).write_text(text, encoding="utf-8")
    return folder


def test_what_is_written_is_read_again(tmp_path):
    names = ("travel", 'ontology/my "own".ttl', "ontology/乌镇.ttl", "back\\slash\x7f\n.ttl")
    config.write(tmp_path, base="https://example.org/乌镇/", ontology=names)
    settings = config.load(tmp_path)
    assert (settings.base, settings.ontology, settings.version) == ("https://example.org/乌镇/", names, 1)
    assert settings.model.name == ""
    text = 'version = 1\n[model]\nname = "m"\ntimeout_seconds = 5\n[documents]\nmax_bytes = 10\n'
    settings = config.load(workspace(tmp_path, text))
    assert (settings.model.name, settings.model.timeout_seconds, settings.documents.max_bytes) == ("m", 5.0, 10)


@pytest.mark.parametrize(
    ("text", "setting", "message"),
    [
        ("ontologi = []", "ontologi", "did you mean ontology?"),
        ("[model]\nnmae = 'x'", "model.nmae", "did you mean model.name?"),
        ("[modle]\nname = 'x'", "modle", "did you mean model?"),
        ("zzz = 1", "zzz", "known are version, base"),
        ("[model]\nretries = 'four'", "model.retries", "model.retries must be int, not 'four'"),
        ("[model]\nretries = true", "model.retries", "must be int, not True"),
        ("[linking]\nsimilarity = 'high'", "linking.similarity", "must be float"),
        ("ontology = 'travel'", "ontology", "a list of strings"),
        ("ontology = [1]", "ontology", "a list of strings"),
        ("model = 'gpt'", "model", r"write \[model\] above its settings"),
        ("base = 'example'", "base", "must be an http"),
        ("version = 'one'", "version", "must be int"),
    ],
)
def test_a_wrong_setting_stops_with_its_name_and_the_way_out(tmp_path, text, setting, message):
    with pytest.raises(ConfigError, match=message) as caught:
        config.load(workspace(tmp_path, text))
    assert caught.value.setting == setting
    assert "\n" not in str(caught.value)


def test_files_that_are_no_settings_of_this_version_are_named(tmp_path):
    with pytest.raises(WorkspaceError, match=f"kgplatform create {tmp_path}"):
        config.load(tmp_path)
    for data in (b"version = ", b"\xff\xfe", b"a = 1\na = 2"):
        (tmp_path / config.FILE).write_bytes(data)
        with pytest.raises(ConfigError, match=config.FILE):
            config.load(tmp_path)
    with pytest.raises(WorkspaceError, match="has format 2, this kgplatform reads format 1"):
        config.load(workspace(tmp_path, "version = 2\nfuture_setting = 1\n"))


def test_the_environment_beats_the_file_and_holds_the_key():
    seen = {"KGPLATFORM_MODEL": "m", "KGPLATFORM_MODEL_URL": "http://localhost:1/v1", "KGPLATFORM_EMBEDDING": "e"}
    settings = config.from_environment(config.Settings(), seen)
    assert (settings.model.name, settings.model.url, settings.embedding.name) == ("m", "http://localhost:1/v1", "e")
    assert config.from_environment(config.Settings(), {}) == config.Settings()
    settings = config.ModelSettings(key_from="MY_KEY")
    assert [config.model_key(settings, seen) for seen in ({"MY_KEY": "secret"}, {})] == ["secret", "none"]


def test_a_base_must_be_an_iri_to_continue():
    for base in ("", "example.org/", "https://example.org", "https://a b/", "urn:x/", "https:///<>/"):
        with pytest.raises(ConfigError):
            config.checked_base(base)
    for base in ("https://example.org/kg/", "http://localhost:8000/乌镇#"):
        assert config.checked_base(base) == base
