// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/system/error_code.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace tenure
{

/** The details of a failed operation, for people; null: none. */
using ErrorDetails = std::shared_ptr<std::string const>;

[[nodiscard]] inline ErrorDetails error_details(std::string words)
{
    return words.empty() ? nullptr : std::make_shared<std::string const>(std::move(words));
}

/** Details on their way from the failure to the user's handler, on this thread. An operation completes through several
 *  layers that pass an error code only, and the details pass beside them. */
struct ErrorDetailsOnThread {
    /// of operations that complete now with an error; null: none
    ErrorDetails const* failing = nullptr;
    /// of the operation whose handler is being called; null: none
    ErrorDetails* delivered = nullptr;
};
inline constinit thread_local ErrorDetailsOnThread error_details_on_thread;

/** While it exists, operations that this thread completes have these details. */
class FailsWith
{
public:
    explicit FailsWith(ErrorDetails details) noexcept
        : details_(std::move(details))
        , outer_(std::exchange(error_details_on_thread.failing, &details_))
    {
    }
    explicit FailsWith(std::string words)
        : FailsWith(error_details(std::move(words)))
    {
    }
    FailsWith(FailsWith const&) = delete;
    FailsWith& operator=(FailsWith const&) = delete;
    ~FailsWith() { error_details_on_thread.failing = outer_; }

    /** The details of operations that this thread completes now. */
    [[nodiscard]] static ErrorDetails now() noexcept
    {
        auto const* const failing = error_details_on_thread.failing;
        return failing != nullptr ? *failing : nullptr;
    }

private:
    ErrorDetails details_;
    ErrorDetails const* outer_;
};

/** While it exists, a handler runs, whose operation has these details. Operations that the handler starts have none. */
class DeliversDetails
{
public:
    explicit DeliversDetails(ErrorDetails details) noexcept
        : details_(std::move(details))
        , outer_(std::exchange(error_details_on_thread, {nullptr, &details_}))
    {
    }
    DeliversDetails(DeliversDetails const&) = delete;
    DeliversDetails& operator=(DeliversDetails const&) = delete;
    ~DeliversDetails() { error_details_on_thread = outer_; }

    /** The details of the operation whose handler is being called; once, so that a coroutine which that handler resumes
     *  finds none of them in a later operation. */
    [[nodiscard]] static ErrorDetails take() noexcept
    {
        auto* const delivered = error_details_on_thread.delivered;
        return delivered != nullptr ? std::exchange(*delivered, nullptr) : nullptr;
    }

private:
    ErrorDetails details_;
    ErrorDetailsOnThread outer_;
};

} // namespace tenure
