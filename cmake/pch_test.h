// What test programs include besides: their own precompiled header.
#pragma once

#include "pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
