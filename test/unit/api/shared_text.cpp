// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/backend/shared_text.hpp>

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <string>

namespace tenure::test
{

TEST_CASE("a shared text is what it was made of, and empty where it was made of nothing")
{
    SharedText const nothing;
    CHECK(nothing.text().empty());
    CHECK(nothing == "");
    CHECK(nothing == SharedText());
    SharedText const text("worker/1");
    CHECK(text == "worker/1");
    CHECK(text == SharedText(std::string("worker/1")));
    CHECK(text != "worker/2");
    CHECK(text != nothing);
}

TEST_CASE("copies of a shared text share it, and keep alive what it is a part of")
{
    struct Whole {
        std::string part = "owner";
    };
    auto whole = std::make_shared<Whole>();
    std::weak_ptr<Whole> const observed = whole;
    SharedText text(std::shared_ptr<std::string const>(whole, &whole->part));
    whole.reset();
    auto const copy = text;
    text = {};
    CHECK_FALSE(observed.expired());
    std::string const& seen = copy;
    CHECK(&seen == &copy.text());
    CHECK(seen == "owner");
}

} // namespace tenure::test
