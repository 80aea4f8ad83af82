// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenure
{

/** The owner that a request is about: text that the request shares with whatever else is about the same owner. */
class Owner
{
public:
    /** Of nobody: no text. */
    Owner() = default;
    Owner(std::string text)
        : text_(std::make_shared<std::string const>(std::move(text)))
    {
    }
    Owner(char const* text)
        : Owner(std::string(text))
    {
    }
    Owner(std::shared_ptr<std::string const> text) noexcept
        : text_(std::move(text))
    {
    }

    [[nodiscard]] std::string const& text() const noexcept { return text_ == nullptr ? nobody() : *text_; }
    operator std::string const&() const noexcept { return text(); }

    [[nodiscard]] friend bool operator==(Owner const& left, std::string_view right) noexcept
    {
        return left.text() == right;
    }
    /** A template, so that a text is compared as it is. */
    template <std::same_as<Owner> Other>
    [[nodiscard]] friend bool operator==(Owner const& left, Other const& right) noexcept
    {
        return left.text() == right.text();
    }

private:
    [[nodiscard]] static std::string const& nobody() noexcept
    {
        static std::string const none;
        return none;
    }

    std::shared_ptr<std::string const> text_;
};

} // namespace tenure
