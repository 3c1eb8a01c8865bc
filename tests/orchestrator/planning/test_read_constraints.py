"""What a text restricts."""

import pytest

from enlist.orchestrator.planning.constraints import read_constraints


@pytest.mark.parametrize(("text", "devices"), [
    ("on an H100", ("H100",)),
    ("on h100 sxm5 please", ("h100 sxm5",)),
    ("compare RTX 4090 with B200", ("RTX 4090", "B200")),
    ("an H100 PCIe, then the same on the H100 PCIe", ("H100 PCIe",)),
    ("an NVIDIA A100 80 GB", ("NVIDIA A100",)),
    ("MI300X or Gaudi 3 or TPU v5e", ("MI300X", "Gaudi 3", "TPU v5e")),
    ("auf einer GB200", ("GB200",)),
    ("it takes 9.8 ms on an H100 PCIe: where is the headroom?", ("H100 PCIe",)),
    ("on the gpu:H100, bounds?", ("H100",)),
    ("values in A100:B200", ()),
    ("A1:A100 holds them", ()),
    ("take A100!B2", ()),
    ("=SUM(A1:A100)", ()),
    ("which formula belongs in cell A100 of this sheet", ()),
    ("the formula in B200 of the workbook is wrong", ()),
    ("meet at gate H10", ()),
    ("", ()),
])
def test_devices_keep_the_users_spelling_and_cells_are_no_devices(text, devices):
    assert read_constraints(text).devices == devices


@pytest.mark.parametrize("device", ["H100", "H100 PCIe", "H100 SXM", "h100 sxm5", "A100-80GB", "RTX 4090", "MI300X",
                                    "NVIDIA B200", "Gaudi 3", "TPU v5e", "Apple M4 Max"])
@pytest.mark.parametrize("mark", [":", "!", "?", ".", ",", ";", ")", "/", "…", " -", "'s", ":\n", '"', "：", "!?",
                                  "s:", "s"])
def test_a_device_keeps_its_whole_name_before_any_punctuation(device, mark):
    assert read_constraints(f"{device}{mark} headroom").devices == (device,)


@pytest.mark.parametrize(("text", "dtype"), [
    ("in bf16", "bf16"), ("with bfloat16 weights", "bf16"), ("FP8 inference", "fp8"), ("float32", "fp32"),
    ("half precision", "fp16"), ("int8 weights", "int8"), ("a bf160 cable", None), ("no number format here", None),
])
def test_the_number_format_is_named_one_way(text, dtype):
    assert read_constraints(text).dtype == dtype


@pytest.mark.parametrize(("text", "batch", "length"), [
    ("batch 8, sequence length 2048", 8, 2048),
    ("batch size of 16 and seq_len=4096", 16, 4096),
    ("batch=1, 8k context", 1, 8192),
    ("bs 32", 32, None),
    ("a prompt length of 1,024", None, 1024),
    ("a batch of cookies, length unknown", None, None),
    ("batch 0", None, None),
])
def test_batch_and_length_are_read_where_they_are_numbers(text, batch, length):
    found = read_constraints(text)
    assert (found.batch, found.length) == (batch, length)


@pytest.mark.parametrize(("text", "training"), [
    ("for one training step", True), ("forward and backward", True), ("during training", True),
    ("inference only", False), ("no training, inference", False), ("the train to Bern", False),
])
def test_training_is_set_only_where_it_is_asked_for(text, training):
    assert read_constraints(text).training is training


def test_every_quote_is_a_substring_of_the_text():
    text = "On an H100 SXM5 in BF16, batch 8, sequence length 2,048, for a training step"
    quotes = read_constraints(text).quotes
    assert set(quotes) == {"devices", "dtype", "batch", "length", "training"}
    assert all(quote in text for quote in quotes.values())
