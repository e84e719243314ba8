import pytest

from kaizen_components.pipeline.gates.tests import asserts


@pytest.fixture
def find_weak_tests(candidate):
    return lambda body: [
        finding.text.split()[0] for finding in asserts.find_empty_tests(candidate(test=body))
    ]


WEAK = {
    "nothing": "def test_x():\n    double(3)\n",
    "true": "def test_x():\n    assert True\n",
    "a tuple": "def test_x():\n    assert (double(3) == 6, 'six')\n",
    "itself": "def test_x():\n    assert double(3) == double(3)\n",
    "not none": "def test_x():\n    assert double(3) is not None\n",
    "or true": "def test_x():\n    assert double(3) == 6 or True\n",
    "swallowed": "def test_x():\n    try:\n        assert double(3) == 6\n    except Exception:\n        pass\n",
    "never run": "def test_x():\n    if 0:\n        assert double(3) == 6\n",
    "after the end": "def test_x():\n    return\n    assert double(3) == 6\n",
    "helper": "def look(x):\n    x + 1\n\n\ndef test_x():\n    look(double(3))\n",
    "unittest": "class TestX:\n    def test_x(self):\n        self.assertTrue(True)\n"
    "        self.assertIsNotNone(double(3))\n",
}
STRONG = {
    "compare": "def test_x():\n    assert double(3) == 6\n",
    "truth": "def test_x():\n    assert double(3)\n",
    "raises": "def test_x():\n    with pytest.raises(TypeError):\n        double(None)\n",
    "unittest": "class TestX:\n    def test_x(self):\n        self.assertEqual(double(3), 6)\n",
    "mock": "def test_x():\n    mock.assert_called_once_with(3)\n",
    "helper": "def check(f):\n    for x in (1, 2):\n        assert f(x) == 2 * x\n\n\n"
    "def test_x():\n    check(double)\n",
    "in a loop": "async def test_x():\n    async with a:\n        for x in (1, 2):\n"
    "            assert double(x) == 2 * x\n"
    "",
    "expected error": "def test_x():\n    try:\n        double(None)\n    except TypeError:\n"
    "        assert 'x' in seen\n",
    "imported checker": "from tests.shapes import check_shape\n\n\ndef test_x():\n    check_shape(double(3))\n",
    "raised": "def test_x():\n    if double(3) != 6:\n        raise AssertionError(3)\n",
}


@pytest.mark.parametrize("body", WEAK.values(), ids=WEAK)
def test_test_without_real_assert_is_reported(find_weak_tests, body):
    assert [name.rpartition(".")[2] for name in find_weak_tests(body)] == ["test_x"]


@pytest.mark.parametrize("body", STRONG.values(), ids=STRONG)
def test_test_with_real_assert_is_accepted(find_weak_tests, body):
    assert find_weak_tests(body) == []
