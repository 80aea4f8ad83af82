// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <stdexcept>
#include <string>
#include <variant>

namespace tenure::conformance
{

/** Returns a copy of the expected alternative. @throws std::runtime_error naming the actual one */
template <class Wanted, class Reply>
Wanted expect(Reply const& reply)
{
    if (auto const* const wanted = std::get_if<Wanted>(&reply))
        return *wanted;
    std::string text = "alternative " + std::to_string(reply.index());
    std::visit(
        [&text](auto const& other) {
            if constexpr (requires { other.detail; })
                text += ": " + other.error.message() + ": " + other.detail;
        },
        reply);
    throw std::runtime_error("another reply than expected: " + text);
}

/** Returns a copy of the expected failure. @throws std::runtime_error describing the actual reply */
template <class Reply>
backend::Failure expect_failure(Reply const& reply, backend::Failure::Effect effect)
{
    auto const* const failure = std::get_if<backend::Failure>(&reply);
    if (failure == nullptr)
        throw std::runtime_error("a result in place of a failure: alternative " + std::to_string(reply.index()));
    if (failure->effect != effect)
        throw std::runtime_error(
            "a failure with another effect than expected: " + failure->error.message() + ": " + failure->detail);
    return *failure;
}

/** As `expect_failure`, for a request that changed nothing. */
template <class Reply>
backend::Failure expect_refused(Reply const& reply)
{
    return expect_failure(reply, backend::Failure::Effect::refused);
}

/** As `expect_failure`, for a request that was never written. */
template <class Reply>
backend::Failure expect_not_sent(Reply const& reply)
{
    return expect_failure(reply, backend::Failure::Effect::not_sent);
}

/** As `expect_failure`, for a request that may have been written. */
template <class Reply>
backend::Failure expect_unknown(Reply const& reply)
{
    return expect_failure(reply, backend::Failure::Effect::unknown);
}

} // namespace tenure::conformance
