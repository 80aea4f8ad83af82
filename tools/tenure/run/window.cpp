// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/window.hpp"

#include "keys/holder.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"

#include <tenure/key_range.hpp>
#include <tenure/segments.hpp>

#include <stdexcept>

namespace tenure::tool
{

using std::chrono::milliseconds;

Window::Window(milliseconds length, std::optional<std::chrono::sys_seconds> at) noexcept
    : length_(length)
    , at_(at)
{
}

void Window::check(Store const& store) const
{
    try {
        store.check_detach(length_);
    } catch (std::invalid_argument const& error) {
        // the library's `remaining`
        std::string const words = error.what();
        throw std::invalid_argument(
            words.starts_with("remaining is ") ? "--window" + words.substr(words.find(' ')) : "--window: " + words);
    }
}

std::string Window::key_for(std::string const& name) const
{
    return at_ ? name + "/" + Segments::windows(length_).suffix_of(*at_) : name;
}

milliseconds Window::rest(Instant granted, Instant now) const noexcept
{
    // an occurrence has its own key, which nothing else waits for: it cannot be kept for too long
    return at_ ? length_ : length_ - std::chrono::floor<milliseconds>(now - granted);
}

std::string Window::subject(std::string const& name) const
{
    auto const text = printable(name, 256);
    if (!at_)
        return text;
    auto const beginning = milliseconds(std::stoll(Segments::windows(length_).suffix_of(*at_)));
    return text + " of " + utc_time(std::chrono::sys_time<milliseconds>(beginning));
}

std::string Window::describe_refusal(std::string const& name, KeyState const& state) const
{
    auto const holder = holder_of(state);
    auto const text = subject(name);
    if (holder.kind == Holder::Kind::kept)
        return text + " has been run" + (at_ ? "" : " in this window") +
               (holder.name.empty() ? "" : " by " + holder.name) +
               (state.remaining ? "; the lock is kept for another " + describe(*state.remaining) : "");
    return text + " is " + describe_holders(*named_key(key_for(name)), {state}) +
           (holder.kind == Holder::Kind::worker ? ", which runs it" : "");
}

std::string Window::describe_overrun(milliseconds taken) const
{
    return "the command took " + describe(taken) + ", longer than the window of " + describe(length_) +
           ": the lock is released, and another process may run it at once";
}

} // namespace tenure::tool
