// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenure::test
{

/** @param option  the name for the error
 *  @throws std::invalid_argument unless the text is a number in these bounds */
template <class Number>
[[nodiscard]] Number number_in(std::string_view option, std::string_view text, Number least, Number most)
{
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
        return value;
    std::ostringstream bounds;
    bounds << option << " " << text << ": a number from " << least << " to " << most << " is needed";
    throw std::invalid_argument(bounds.str());
}

/** The options of a test program, one after the other. All functions may throw std::invalid_argument. */
class OptionReader
{
public:
    OptionReader(int count, char const* const* arguments) noexcept
        : count_(count)
        , arguments_(arguments)
    {
    }

    /** Moves to the next option. Returns false at the end. */
    [[nodiscard]] bool next() noexcept
    {
        if (++at_ >= count_)
            return false;
        option_ = arguments_[at_];
        return true;
    }
    [[nodiscard]] bool is(std::string_view name) const noexcept { return option_ == name; }
    [[nodiscard]] std::string_view value()
    {
        if (++at_ == count_)
            throw std::invalid_argument(std::string{option_} + " needs a value");
        return arguments_[at_];
    }
    template <class Number>
    [[nodiscard]] Number number(Number least, Number most)
    {
        return number_in(option_, value(), least, most);
    }
    [[noreturn]] void refuse() const { throw std::invalid_argument("unknown option " + std::string{option_}); }

private:
    int count_;
    char const* const* arguments_;
    int at_ = 0;
    std::string_view option_;
};

} // namespace tenure::test
