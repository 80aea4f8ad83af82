// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure
{

namespace detail
{

template <class T>
inline constexpr bool is_bool_or_character =
    std::same_as<T, bool> || std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

} // namespace detail

/** An item that belongs to a segment: a text, a number or a time. It refers to the text, which must outlive the call.
 */
class SegmentItem
{
public:
    /// wall-clock time in milliseconds since 1970
    using Time = std::chrono::sys_time<std::chrono::milliseconds>;

    /** A text, for `hashed` and `named`. */
    template <std::convertible_to<std::string_view> Text>
    SegmentItem(Text const& text) noexcept
        : value_(static_cast<std::string_view>(text))
    {
    }
    /** A number, for `ranges`. One above the largest `std::int64_t` is in the last range. */
    template <std::integral Number>
        requires(!detail::is_bool_or_character<Number>)
    SegmentItem(Number number) noexcept
        : value_(
              std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number)
                                                  : std::numeric_limits<std::int64_t>::max())
    {
    }
    /** The item's own time, such as the time of an order or a run. With "now", two clients could both enter at the edge
     * of a window, because their clocks differ. */
    template <class Duration>
    SegmentItem(std::chrono::sys_time<Duration> time) noexcept
        : value_(std::chrono::floor<std::chrono::milliseconds>(time))
    {
    }

    /** The item as it was given. */
    [[nodiscard]] std::variant<std::string_view, std::int64_t, Time> const& value() const noexcept { return value_; }

private:
    std::variant<std::string_view, std::int64_t, Time> value_;
};

/** How items are divided into segments. All programs that share the keys must use the same division. */
class TENURE_API Segments
{
public:
    /// the largest number of segments, but for windows
    static constexpr std::uint32_t most = 1024;

    /** Texts by their hash: FNV-1a of 64 bits over the bytes, modulo the count, so that other languages can agree.
     * The hash of "sku-1" is 0x95ea9e427819cf8c, for example.
     *  @param count  1 to 1,024. @throws std::invalid_argument
     *  @see http://www.isthe.com/chongo/tech/comp/fnv/ */
    [[nodiscard]] static Segments hashed(std::uint32_t count);
    /** Numbers by ranges: below the first bound, from there to below the second, and so on; N bounds make N + 1
     * segments.
     *  @param bounds  1 to 1,023, increasing. @throws std::invalid_argument */
    [[nodiscard]] static Segments ranges(std::vector<std::int64_t> bounds);
    /** Texts that are names of segments; the keys contain the names.
     *  @param names  1 to 1,024 different ones. @throws std::invalid_argument */
    [[nodiscard]] static Segments named(std::vector<std::string> names);
    /** Times by windows of one length, counted from 1970; a window's key contains its start in milliseconds.
     *  @param length  at least 1 ms. @throws std::invalid_argument */
    [[nodiscard]] static Segments windows(std::chrono::milliseconds length);

    /** The number of segments; 0 for windows, which have no end. */
    [[nodiscard]] std::uint32_t count() const noexcept;

    /** The text after the prefix in the key of the item's segment. @throws std::invalid_argument if the item belongs to
     * no segment */
    [[nodiscard]] std::string suffix_of(SegmentItem item) const;
    /** The text after the prefix for a segment by number. @throws std::invalid_argument for a number beyond the last */
    [[nodiscard]] std::string suffix(std::uint32_t number) const;

private:
    struct TENURE_LOCAL Division;

    explicit Segments(Division division);

    std::shared_ptr<Division const> division_;
};

} // namespace tenure
