// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Values of the RESP protocol.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis::resp
{

enum class Type : std::uint8_t {
    null,
    /// simple string: +OK
    status,
    /// simple or blob error
    error,
    integer,
    /// bulk or verbatim string
    text,
    real,
    boolean,
    /// an integer of any length, as text
    big_number,
    array,
    set,
    /// keys and values alternate
    map,
    push
};

/** One reply of RESP2 or RESP3. Null, numbers and strings of up to 15 bytes need no allocation. */
class Value
{
public:
    Value() noexcept = default;

    [[nodiscard]] static Value status(std::string text) { return {Type::status, std::move(text)}; }
    /** `text` begins with the error's word: "NOPERM this user has no permissions ..." */
    [[nodiscard]] static Value error(std::string text) { return {Type::error, std::move(text)}; }
    [[nodiscard]] static Value integer(std::int64_t number) { return {Type::integer, number}; }
    [[nodiscard]] static Value text(std::string text) { return {Type::text, std::move(text)}; }
    [[nodiscard]] static Value real(double number) { return {Type::real, number}; }
    [[nodiscard]] static Value boolean(bool truth) { return {Type::boolean, truth}; }
    [[nodiscard]] static Value big_number(std::string digits) { return {Type::big_number, std::move(digits)}; }
    /** array, set, map (keys and values alternate) or push. */
    [[nodiscard]] static Value list(Type type, std::vector<Value> elements) { return {type, std::move(elements)}; }

    [[nodiscard]] Type type() const noexcept { return type_; }
    [[nodiscard]] bool is_null() const noexcept { return type_ == Type::null; }
    [[nodiscard]] bool is_error() const noexcept { return type_ == Type::error; }
    [[nodiscard]] bool is_integer() const noexcept { return type_ == Type::integer; }
    /** status or text: what servers use for strings. */
    [[nodiscard]] bool is_string() const noexcept { return type_ == Type::status || type_ == Type::text; }
    /** array, set, map or push. */
    [[nodiscard]] bool is_list() const noexcept { return type_ >= Type::array; }
    [[nodiscard]] bool is_ok() const noexcept { return type_ == Type::status && as_string() == "OK"; }

    /** The characters of status, error, text and big number; empty for all others. */
    [[nodiscard]] std::string_view as_string() const noexcept
    {
        auto const* const text = std::get_if<std::string>(&content_);
        return text != nullptr ? std::string_view(*text) : std::string_view();
    }

    /** The number of an integer; 0 for all others. */
    [[nodiscard]] std::int64_t as_integer() const noexcept
    {
        auto const* const number = std::get_if<std::int64_t>(&content_);
        return number != nullptr ? *number : 0;
    }

    /** The number of a real; 0 for all others. */
    [[nodiscard]] double as_real() const noexcept
    {
        auto const* const number = std::get_if<double>(&content_);
        return number != nullptr ? *number : 0;
    }

    [[nodiscard]] bool as_boolean() const noexcept
    {
        auto const* const truth = std::get_if<bool>(&content_);
        return truth != nullptr && *truth;
    }

    /** The elements of array, set, map and push; empty for all others. */
    [[nodiscard]] std::span<Value const> elements() const noexcept
    {
        auto const* const list = std::get_if<std::vector<Value>>(&content_);
        return list != nullptr ? std::span<Value const>(*list) : std::span<Value const>();
    }

    /** The first word of an error: "NOPERM", "NOSCRIPT", "ERR"; empty for all others. */
    [[nodiscard]] std::string_view error_word() const noexcept
    {
        if (type_ != Type::error)
            return {};
        auto const text = as_string();
        return text.substr(0, text.find(' '));
    }

    /** Moves another value into this, which is null. Most values are texts, and moving a text directly costs half as
     *  much as moving a variant. */
    void take(Value&& other) noexcept
    {
        type_ = other.type_;
        if (auto* const text = std::get_if<std::string>(&other.content_))
            content_.emplace<std::string>(std::move(*text));
        else
            content_ = std::move(other.content_);
    }

    friend bool operator==(Value const&, Value const&) = default;

private:
    friend class Parser;
    using Content = std::variant<std::monostate, std::int64_t, double, bool, std::string, std::vector<Value>>;

    Value(Type type, Content content) noexcept
        : content_(std::move(content))
        , type_(type)
    {
    }

    /** Constructs the value in place: moving a variant costs more than a short string. */
    void assign(Type type, std::string_view text)
    {
        content_.emplace<std::string>(text);
        type_ = type;
    }

    Content content_;
    Type type_ = Type::null;
};

} // namespace tenure::redis::resp
