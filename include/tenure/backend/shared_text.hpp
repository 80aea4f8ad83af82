// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenure
{

/** Immutable shared text: a name that one request after another carries. */
class SharedText
{
public:
    /** Empty. */
    SharedText() = default;
    SharedText(std::string text)
        : text_(std::make_shared<std::string const>(std::move(text)))
    {
    }
    SharedText(char const* text)
        : SharedText(std::string(text))
    {
    }
    SharedText(std::shared_ptr<std::string const> text) noexcept
        : text_(std::move(text))
    {
    }

    [[nodiscard]] std::string const& text() const noexcept { return text_ == nullptr ? no_text() : *text_; }
    operator std::string const&() const noexcept { return text(); }

    [[nodiscard]] friend bool operator==(SharedText const& left, std::string_view right) noexcept
    {
        return left.text() == right;
    }
    /** A template, so that no conversion to SharedText takes part in a comparison. */
    template <std::same_as<SharedText> Other>
    [[nodiscard]] friend bool operator==(SharedText const& left, Other const& right) noexcept
    {
        return left.text() == right.text();
    }

private:
    [[nodiscard]] static std::string const& no_text() noexcept
    {
        static std::string const none;
        return none;
    }

    std::shared_ptr<std::string const> text_;
};

} // namespace tenure
